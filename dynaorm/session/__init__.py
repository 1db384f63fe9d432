"""What users hold: a session, its transactions, and what can be asked of an entity.

Its methods drive flows over a transport and add nothing to them. No rule about what is written belongs here.
"""
