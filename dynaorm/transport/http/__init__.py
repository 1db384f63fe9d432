"""HTTP connections of our own: finding the server, signing, sending and reading, without botocore's client.

Transports do not belong here: both the default one and those in ``direct`` send over these connections.
"""
