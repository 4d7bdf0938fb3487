class Scope:
    OSD = 'osd'
    CONFIG_OPT = 'config-opt'


class Permission:
    READ = 'read'
    UPDATE = 'update'
