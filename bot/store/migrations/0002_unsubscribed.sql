CREATE TABLE unsubscribed (
    destination_uid TEXT NOT NULL,
    feed_id TEXT NOT NULL,                 -- '': every feed
    at INTEGER NOT NULL,
    PRIMARY KEY (destination_uid, feed_id)
);
