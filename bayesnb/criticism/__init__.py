"""Criticism and comparison of models: functions of estimators and labelled rows."""
