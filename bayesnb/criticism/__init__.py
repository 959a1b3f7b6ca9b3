"""Model checking and comparison: functions of estimators and labelled rows."""
