"""What Holdfast costs, as ratios within one run: `python -m bench`.

Times on a shared machine say little, so every figure stands beside something measured in the same minutes, turn by
turn: a shell with a bare interpreter, bare SQLite, an empty store. Nothing here is a test.
"""
