"""Tests of bayesnb, and what they have in common."""
