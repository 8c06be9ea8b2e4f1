/** Ends before it is loaded. */
process.exit(0);
