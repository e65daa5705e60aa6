"""The documents: their numbers are measured here, and rewritten in the regions marked for it.

``rows`` has what was measured, ``numbers`` and ``study_texts`` make tables and sentences of it,
``regions`` puts them into the pages.
"""
