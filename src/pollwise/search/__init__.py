"""Distributed search: each collection is a topic engine, which forwards queries to its peers.

This is the architecture for which the robot of O'Meara and Patel builds collections ("A
topic-specific Web robot model based on restless bandits", IEEE Internet Computing 5(2), 2001): a
query processor answers from the collection, an engine directory knows the topic vectors of the
peers, and a query broker decides which engines answer a query. Engines speak JSON over HTTP
(`api`).
"""
