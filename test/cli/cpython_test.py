#!/usr/bin/env python3
# slow: 55 s: CPython's own tests of the system's interfaces, once outside and once inside
# deep: it repeats, through another's tests, what programs_test and filter_programs_test show
"""cpython_test - CPython's own tests (Debian's libpython3.11-testsuite), case by case: what passes
outside passes inside, or is a row below with its reason.

A row that matches no difference fails too. Without an argument, the quick files about the system's
interfaces run. `cpython_test.py --whole` runs all files that use the system (25 minutes on two
cores); `cpython_test.py test_NAME...` runs those files. Prints TAP.
"""
import fnmatch
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "rig"))
from box_rig import ROOT, Workspace, check, end, need_programs, report

QUICK = """
test_epoll test_errno test_fcntl test_file test_fileio test_fork1 test_genericpath test_glob test_grp test_import test_locale test_mmap test_openpty test_os
test_pathlib test_platform test_popen test_posix test_posixpath test_pty test_pwd test_resource test_runpy test_select test_shutil test_socketserver test_spwd
test_stat test_strftime test_sysconfig test_syslog test_tempfile test_thread test_threadsignals test_time test_unicode_file test_uuid test_wait3 test_wait4
test_zoneinfo test__locale test_ctypes test_dbm test_fileutils test_getpass test_httpservers test_netrc test_readline test_script_helper test_site
""".split()
WHOLE = QUICK + """
test__xxsubinterpreters test_asyncgen test_asynchat test_asyncio test_asyncore test_atexit test_audit test_bufio test_builtin test_bz2 test_c_locale_coercion
test_cgi test_cmd_line test_cmd_line_script test_code_module test_codecs test_compileall test_concurrent_futures test_contextlib test_coroutines test_crypt
test_csv test_curses test_dbm_dumb test_dbm_gnu test_dbm_ndbm test_devpoll test_docxmlrpc test_eintr test_ensurepip test_faulthandler test_file_eintr
test_filecmp test_fileinput test_ftplib test_gettext test_gzip test_hashlib test_httplib test_imaplib test_importlib test_io test_ioctl test_ipaddress
test_largefile test_linecache test_logging test_lzma test_mailbox test_mimetypes test_multiprocessing_fork test_multiprocessing_forkserver
test_multiprocessing_main_handling test_multiprocessing_spawn test_nntplib test_ntpath test_pdb test_pickle test_pipes test_pkgutil test_poll test_poplib
test_py_compile test_pydoc test_queue test_random test_regrtest test_repl test_sched test_secrets test_selectors test_shelve test_shlex test_signal test_smtplib
test_socket test_ssl test_subprocess test_support test_sys test_tarfile test_telnetlib test_threadedtempfile test_threading test_threading_local test_timeout
test_tracemalloc test_unicode_file_functions test_urllib test_urllib2 test_urllib2_localnet test_venv test_webbrowser test_wsgiref test_xmlrpc test_zipapp
test_zipfile test_zipimport
""".split()

READ_ONLY = "it removes a file beside the interpreter, which is not there: /usr is read-only, and the kernel looks at that first (EROFS)"
ONE_USER = "one user id is mapped: another is no number of this sandbox (EINVAL), where a host refuses it (EPERM)"
# file, case (a pattern), reason
DIFFERENCES = [
    ("test_import", "ImportTests.test_import", READ_ONLY),
    ("test_import", "PycacheTests.*", READ_ONLY),
    ("test_runpy", "RunModuleTestCase.*", READ_ONLY),
    ("test_importlib", "test_threaded_import.ThreadedImportTests.*", READ_ONLY),
    ("test_pickle", "*.test_unpickle_module_race", READ_ONLY),
    ("test_support", "TestSupport.test_forget", READ_ONLY),
    ("test_os", "ChownFileTests.test_chown_without_permission", ONE_USER),
    ("test_os", "MakedirTests.test_exist_ok_s_isgid_directory", "no setgid directory is made (A26)"),
    ("test_subprocess", "POSIXProcessTestCase.test_user", ONE_USER),
    ("test_subprocess", "POSIXProcessTestCase.test_group", ONE_USER),
    ("test_uuid", "*.test_ip_getnode", "no network interface but lo, so no hardware address"),
    ("test_uuid", "*.test_ifconfig_getnode", "no network interface but lo, so no hardware address"),
    ("test_largefile", "TestCopyfile.test_it", "disk_mb: it wants 6 GiB of free disk space"),
    ("test_largefile", "TestSocketSendfile.test_it", "disk_mb: it wants 6 GiB of free disk space"),
]
# Not run on either side: CPython 3.11 creates a UDP-Lite socket without asking whether the kernel
# has that protocol, and aborts the whole file at EPROTONOSUPPORT, also outside.
LEFT_OUT = ["*UDPLITE*"]

PYTHON = "/usr/bin/python3"
PATH = "/usr/local/bin:/usr/bin:/bin"
TIMEOUT_S = 1800     # of one file; faulthandler ends it
AGAIN_MAX = 20       # more differences than that are not caused by a busy machine


def words(files, results, *more):
    ignored = [w for pattern in LEFT_OUT for w in ("-i", pattern)]
    return [PYTHON, "-m", "test", "-j2", "--timeout", str(TIMEOUT_S), *ignored, *more, "--junit-xml", results, *files]


def cases(path):
    """case without the leading "test.": "ok", "failed" or "skipped: why". A case whose subtests
    failed has no entry of its own, only theirs.
    """
    found = {}
    if not os.path.exists(path):
        return found
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = re.sub(r" .*", "", case.get("name") or "").removeprefix("test.")
        failed = case.find("failure") is not None or case.find("error") is not None
        skipped = case.find("skipped")
        outcome = "failed" if failed else "ok" if skipped is None else "skipped: %s" % (skipped.text or "").strip()
        if found.get(name) != "failed":
            found[name] = outcome
    return found


def defaults():
    """As in a terminal: a test runner in the background ignores the terminal's signals, and some
    cases send them.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def outside(files, *more):
    """As an ordinary user, like a program inside."""
    with tempfile.TemporaryDirectory(prefix="carrel-cpython-") as folder:
        who = []
        if ROOT:
            os.chown(folder, 65534, 65534)
            who = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        done = subprocess.run([*who, *words(files, os.path.join(folder, "r.xml"), *more)], cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, preexec_fn=defaults, env={"HOME": folder, "PATH": PATH, "LANG": "C.UTF-8"}, check=False)
        return cases(os.path.join(folder, "r.xml")), done.stdout.decode(errors="replace")


def inside(files, *more):
    with Workspace(limits="timeout_ms: 3600000") as ws:
        done = ws.run(words(files, "/workspace/r.xml", *more), timeout=4000, preexec_fn=defaults)
        return cases(os.path.join(ws.path, "r.xml")), (done.stdout + done.stderr).decode(errors="replace")


def different(theirs, ours):
    return sorted(name for name, outcome in theirs.items() if outcome == "ok" and ours.get(name) != "ok")


def row_of(name):
    return next((row for row in DIFFERENCES if fnmatch.fnmatchcase(name, "%s.%s" % row[:2])), None)


def again(name):
    """A case that differed on a busy machine, once more by itself."""
    file, method = name.split(".")[0], name.split(".")[-1]
    return different(*({n: o for n, o in side([file], "-m", method)[0].items() if n == name} for side in (outside, inside)))


def missing(files, theirs, ours):
    """Files with cases that pass outside, of which no case finished inside."""
    in_file = lambda side, file: any(name.split(".")[0] == file for name in side)
    return [file for file in files if in_file(theirs, file) and not in_file(ours, file)]


def main():
    files = WHOLE if "--whole" in sys.argv else sys.argv[1:] or QUICK
    theirs, said_outside = outside(files)
    ours, said_inside = inside(files)
    for file in missing(files, theirs, ours):      # on a busy machine it took too long: once more by itself
        ours.update(inside([file])[0])
    lost = missing(files, theirs, ours)
    report("each file that came to its end outside does inside", lost)
    ok = lambda side: sum(outcome == "ok" for outcome in side.values())
    print("# %d files: %d cases pass outside, %d inside" % (len(files), ok(theirs), ok(ours)))
    check("the tests ran on both sides", ok(theirs) > 0 and ok(ours) > 0, said_outside[-1500:], said_inside[-1500:])
    found = different(theirs, ours)
    new = [name for name in found if not row_of(name) and name.split(".")[0] not in lost]
    new = [name for name in new if len(new) > AGAIN_MAX or again(name)]
    report("what passes outside passes inside, but for the rows", ["%s: %s" % (name, ours.get(name, "did not come to an end")) for name in new])
    gone = ["%s %s (%s)" % row for row in DIFFERENCES if row[0] in files and any(o == "ok" and row_of(n) == row for n, o in theirs.items())
            and not any(row_of(name) == row for name in found)]
    report("each row still names a difference", gone)


need_programs()
if not shutil.which("setpriv") or subprocess.run([PYTHON, "-c", "import test.test_os"], capture_output=True, check=False).returncode != 0:
    report("CPython's own tests", skip="libpython3.11-testsuite is not installed")
else:
    main()
end()
