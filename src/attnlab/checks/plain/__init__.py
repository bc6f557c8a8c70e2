"""Every exercise answered plainly, one module for each chapter: what slips.py starts from."""
