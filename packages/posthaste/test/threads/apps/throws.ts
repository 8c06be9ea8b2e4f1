/** Cannot be loaded. */
throw new TypeError("the moon is not out");
