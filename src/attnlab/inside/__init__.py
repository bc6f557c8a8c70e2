"""Looking into trained models: what heads do, which ones matter, how features share room.

Everything here reads what `attnlab.record.record` gives.
"""
