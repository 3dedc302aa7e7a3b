# carrel code examples/hello.py
print("hello from a sandbox")
