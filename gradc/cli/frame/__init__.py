"""What all commands share: how functions are found and named, options, output, and errors."""
