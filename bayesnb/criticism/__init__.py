"""Criticism and comparison of models: functions of estimators and labelled rows, each a few calls into rooms below."""
