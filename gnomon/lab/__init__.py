"""The lab: trains one small model an experiment, measures it past its training length, and stores what was found."""
