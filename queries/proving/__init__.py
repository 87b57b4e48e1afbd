"""What is proved: headers, tries and storage positions, from bytes alone.

Nothing here knows Django, a network or a clock, and nothing of ours is imported: whoever
audits what Tacitus calls proven reads this folder and two small libraries.
"""
