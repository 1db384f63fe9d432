"""Connections of our own: finding the server, signing, sending and reading HTTP without botocore's client.

Transports over another library, and what all transports share, do not belong here.
"""
