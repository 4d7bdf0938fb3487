class FilterRequest:
    class BeforeHandler:
        pass
