"""The version of the module, and the Python version it requires. Python 3.6 reads this file."""

#: The version of this release, or of the next one between releases. Packages use this value.
VERSION = '1.0.0'

#: Managers of older containers have 3.6 or 3.8: `python_too_old` reports that.
MINIMUM_PYTHON = (3, 9)
