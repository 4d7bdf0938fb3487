"""The JSON answers: each declared once, as a frozen dataclass.

From it are made the JSON (`to_json`), the JSON Schema that is published (`json_schema`), from that
what the dashboard documents of its REST API, and the types of the dashboard's tab (`typescript`).
`make answers` writes the files anew.

Outside tests and tools read the names: add to them, never rename one. Names end in their unit. What
is not known is null. Points in time are ISO 8601 in UTC.
"""
