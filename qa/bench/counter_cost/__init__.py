"""A mgr module for benches: see module.py."""

from .module import Module

__all__ = ['Module']
