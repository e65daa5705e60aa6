"""Pictures without a display, each a function of the records of a table (``saved``).

All have one style: colours that colour-blind eyes tell apart (Okabe and Ito 2008), in grey too,
hatches that help both, labels at what they name. The same table gives the same bytes with the same
matplotlib.
"""
