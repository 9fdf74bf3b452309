"""Distributed search: each collection is a topic engine, which knows others and forwards to them.

The architecture that the robot of O'Meara and Patel builds collections for ("A topic-specific Web
robot model based on restless bandits", IEEE Internet Computing 5(2), 2001): a query processor
answers from the collection, an engine directory knows the topics of the peers by their topic
vectors, and a query broker decides who answers a query. Engines speak JSON over HTTP (`api`).
"""
