"""One self-contained HTML page of saved tables: the answer, charts, every row, and how to read it.

``contents`` says what is on it, ``charts`` draws, ``document`` makes one file of it.
"""
