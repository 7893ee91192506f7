"""Reports on an index: its contents, its integrity, its drift since the fit."""
