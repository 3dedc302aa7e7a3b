from setuptools import setup

setup(name="units", version="1.0", packages=["units"], python_requires=">=3.9")
