"""What a user holds: compile, the compiled function, the transforms, vmap, the policies."""
