-- A statement that does nothing: what a round trip costs.
select 1;
