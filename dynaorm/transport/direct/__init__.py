"""Connections of our own: signing, sending and reading HTTP without botocore's client.

Transports over another library stand beside this folder.
"""
