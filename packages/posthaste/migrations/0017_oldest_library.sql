-- oldest library: 0.1.0
-- From here on the first line of a migration states the oldest version of the library that may run on the schema it makes. The
-- statement is stored, because older code does not have the file: it reads the row and refuses to run.
alter table @schema.migrations add column oldest_library text;
