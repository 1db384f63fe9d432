"""For the tests of those who use dynaorm: engines, faults, a scripted transport, a clock to decide.

Import from the module that has it: ``from dynaorm.testing.faults import lost_answer``.
Nothing here is imported by the rest of the library. No DynamoDB is written anew: engines are other people's.
"""
