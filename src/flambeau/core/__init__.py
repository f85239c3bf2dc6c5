"""The compiled core: what a warm call or a backward step executes more than once per operator."""
