"""The accountant of private searches: bounds, what they claim, exact costs, composition, plans."""
