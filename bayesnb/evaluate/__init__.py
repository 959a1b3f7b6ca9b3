"""How well a model predicts rows that it has not seen: scores, leave-one-out without refitting, calibration."""
