"""Python as traced code sees it: functions, modules, classes, containers and builtins."""
