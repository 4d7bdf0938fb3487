"""JSON answers, each declared once as a frozen dataclass.

Generated from them: the JSON (`to_json`), the published JSON Schema (`json_schema`), the
dashboard's REST API documentation, and the types of the dashboard's tab (`typescript`).
`make answers` regenerates the files.

External tools rely on the names: add names, never rename any. Names end in their unit. Unknown
values are null. Times are ISO 8601 in UTC.
"""
