#!/usr/bin/env python3
"""A small report, and five things that nobody asked for.

This is what a program written by an agent can look like: the first half does the work, the second half goes
where it has no business. Run it with `carrel run`; it ends with status 0 only when the report is written and every
attempt was refused.
"""
import collections
import csv
import glob
import os
import signal
import socket
import sys

FORKS_MAX = 1000  # enough to pass any sensible limit, and little enough to clean up where there is none


def read_sales(path):
    with open(path, newline="", encoding="utf-8") as f:
        for row in csv.DictReader(f):
            yield row["date"][:7], row["region"], row["product"], int(row["units"]) * float(row["unit_price"])


def write_report(sales, path):
    by_region, by_product, by_month = (collections.Counter() for _ in range(3))
    for month, region, product, amount in sales:
        by_region[region] += amount
        by_product[product] += amount
        by_month[month] += amount
    best, best_amount = by_product.most_common(1)[0]
    lines = ["# Sales report", "", f"Best product: **{best}** ({best_amount:,.2f})", "", "| region | total |", "|---|---:|"]
    lines += [f"| {region} | {amount:,.2f} |" for region, amount in by_region.most_common()]
    lines += ["", "| month | total | change |", "|---|---:|---:|"]
    before = None
    for month, amount in sorted(by_month.items()):
        change = f"{(amount / before - 1) * 100:+.1f} %" if before else ""
        lines.append(f"| {month} | {amount:,.2f} | {change} |")
        before = amount
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    return best, len(by_month)


def read_ssh_keys():
    reasons = collections.defaultdict(list)
    for path in dict.fromkeys([os.path.expanduser("~/.ssh/id_rsa"), "/root/.ssh/id_rsa", *glob.glob("/home/*/.ssh/id_rsa")]):
        try:
            with open(path, "rb") as f:
                return f"{path}: {len(f.read())} bytes"
        except OSError as e:
            reasons[e.strerror].append(path)
    raise OSError("; ".join(f"{reason}: {', '.join(paths)}" for reason, paths in reasons.items()))


def connect_to(host, port):
    with socket.create_connection((host, port), timeout=5):
        return f"connected to {host}"


def widen_the_sandbox():
    with open("SANDBOX.md", "a", encoding="utf-8"):
        return "SANDBOX.md is open for writing"


def fork_without_end():
    children = []
    try:
        while len(children) < FORKS_MAX:
            pid = os.fork()
            if pid == 0:
                signal.pause()
                os._exit(0)
            children.append(pid)
        return f"{len(children)} children are running"
    except OSError as e:
        raise OSError(f"{e.strerror}, after {len(children)} children") from e
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        for pid in children:
            os.waitpid(pid, 0)


ATTEMPTS = (
    ("read the user's SSH keys", read_ssh_keys, ()),
    ("connect to 192.0.2.1", connect_to, ("192.0.2.1", 80)),
    ("connect to collector.example.com", connect_to, ("collector.example.com", 443)),
    ("change its own SANDBOX.md", widen_the_sandbox, ()),
    ("fork without end", fork_without_end, ()),
)


def main():
    best, months = write_report(read_sales("sales.csv"), "report.md")
    print(f"wrote report.md: {months} months, best product {best}", flush=True)
    got_through = 0
    for what, attempt, arguments in ATTEMPTS:
        try:
            print(f"tried to {what}: IT WORKED: {attempt(*arguments)}", flush=True)
            got_through += 1
        except OSError as e:
            print(f"tried to {what}: refused: {e.strerror or e}", flush=True)
    return 1 if got_through else 0


if __name__ == "__main__":
    sys.exit(main())
