class JwtManager:
    @classmethod
    def get_username(cls) -> str:
        return 'alice'
