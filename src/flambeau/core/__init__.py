"""The core, compiled where possible: code that each warm call or backward step executes more than once."""
