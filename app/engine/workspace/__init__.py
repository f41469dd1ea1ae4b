"""The only code that writes into a workspace: names, safe paths, durable files, and their formats.

Everything here is synchronous; whoever has a loop calls it in a thread.
"""
