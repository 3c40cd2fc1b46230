-- module: connectors
-- For the metric of connections whose last refresh failed, which is read at every scrape.
create index connections_failing on connections (id) where refresh_attempts > 0;
