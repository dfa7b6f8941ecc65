package acl

// absent are the commands of Redis 7.0 that the command table lacks, by their
// categories. Rules that name them are accepted, so that the users of a Redis can be
// taken over as they are, and they count when ACL LIST summarises a bitmap by
// categories.
var absent = []struct{ categories, names string }{
	{"slow", "xgroup xinfo"},
	{"admin slow dangerous", "module|load module|loadex module|unload"},
	{"write geo slow", "geoadd georadius georadiusbymember geosearchstore"},
	{"read geo slow", "geodist geohash geopos georadius_ro georadiusbymember_ro geosearch"},
	{"keyspace write slow dangerous", "migrate"},
	{"write hyperloglog fast", "pfadd"},
	{"read hyperloglog slow", "pfcount"},
	{"write hyperloglog admin slow dangerous", "pfdebug"},
	{"write hyperloglog slow", "pfmerge"},
	{"hyperloglog admin slow dangerous", "pfselftest"},
	{"write stream fast", "xack xadd xautoclaim xclaim xdel xsetid"},
	{"write stream slow", "xgroup|create xgroup|createconsumer xgroup|delconsumer xgroup|destroy " +
		"xgroup|setid xtrim"},
	{"stream slow", "xgroup|help xinfo|help"},
	{"read stream slow", "xinfo|consumers xinfo|groups xinfo|stream xpending xrange xrevrange"},
	{"read stream fast", "xlen"},
	{"read stream slow blocking", "xread"},
	{"write stream slow blocking", "xreadgroup"},
}
