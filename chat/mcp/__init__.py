"""Tools of outside servers, over the Model Context Protocol.

registered servers -> contracts.  Touches: programs and addresses that staff registered.
"""
