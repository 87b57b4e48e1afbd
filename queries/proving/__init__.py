"""What is proved: headers, tries, accounts and witnesses, from bytes alone.

Nothing here knows Django, a network or a clock, and nothing of ours is imported: an audit of what
Tacitus calls proven reads this folder and two small libraries.
"""
