from typing import Any, List


class PluginManager:
    def __init__(self) -> None:
        self.plugins: List[Any] = []

    def add_plugin(self, plugin: Any) -> Any:
        self.plugins.append(plugin())
        return plugin

    def add_hook(self, hook: Any) -> Any:
        return hook


PLUGIN_MANAGER = PluginManager()
