package miniredis

// Sorted sets.

// ZAdd adds a member or updates its score, and reports whether it is new.
func (db *RedisDB) ZAdd(k string, score float64, member string) (bool, error) {
	return yes(db.try("ZADD", k, score, member))
}

// ZMembers returns the members ordered by score.
func (db *RedisDB) ZMembers(k string) ([]string, error) {
	return db.list(k, "zset", "ZRANGE", k, 0, -1)
}

// SortedSet returns the members with their scores.
func (db *RedisDB) SortedSet(k string) (map[string]float64, error) {
	pairs, err := db.list(k, "zset", "ZRANGE", k, 0, -1, "WITHSCORES")
	if err != nil {
		return nil, err
	}
	set := make(map[string]float64, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		set[pairs[i]], _ = float(pairs[i+1], nil)
	}
	return set, nil
}

// ZScore returns a member's score, 0 if it does not exist.
func (db *RedisDB) ZScore(k, member string) (float64, error) {
	if err := db.requireType(k, "zset"); err != nil {
		return 0, err
	}
	return float(db.try("ZSCORE", k, member))
}

// ZRem removes a member, and reports whether it existed.
func (db *RedisDB) ZRem(k, member string) (bool, error) {
	if err := db.requireType(k, "zset"); err != nil {
		return false, err
	}
	return yes(db.try("ZREM", k, member))
}

// Hashes.

// HSet sets fields to values, in pairs. A key of another type is replaced.
func (db *RedisDB) HSet(k string, fv ...string) {
	db.replaceOther(k)
	if pairs := fv[:len(fv)/2*2]; len(pairs) > 0 {
		db.must(anys("HSET", k)(pairs)...)
	}
}

// replaceOther deletes a key that is not a hash, as the direct calls on hashes do.
func (db *RedisDB) replaceOther(k string) {
	if db.allowType(k, "hash") != nil {
		db.Del(k)
	}
}

// HGet returns a field's value, empty if it does not exist.
func (db *RedisDB) HGet(k, f string) string {
	s, _ := text(db.try("HGET", k, f))
	return s
}

// HKeys returns the fields, sorted.
func (db *RedisDB) HKeys(k string) ([]string, error) {
	fields, err := db.list(k, "hash", "HKEYS", k)
	return sorted(fields), err
}

// HDel removes a field.
func (db *RedisDB) HDel(k, f string) { _, _ = db.try("HDEL", k, f) }

// HIncr increments an integer field. A key of another type is replaced.
func (db *RedisDB) HIncr(k, f string, delta int) (int, error) {
	db.replaceOther(k)
	return number(db.try("HINCRBY", k, f, delta))
}

// HIncrfloat increments a numeric field. A key of another type is replaced.
func (db *RedisDB) HIncrfloat(k, f string, delta float64) (float64, error) {
	db.replaceOther(k)
	return float(db.try("HINCRBYFLOAT", k, f, delta))
}

// HIncrBy is HIncr.
func (m *Miniredis) HIncrBy(k, f string, delta int) (int, error) { return m.HIncr(k, f, delta) }

// HIncrByFloat is HIncrfloat.
func (m *Miniredis) HIncrByFloat(k, f string, delta float64) (float64, error) {
	return m.HIncrfloat(k, f, delta)
}

// Lists.

// List returns the elements.
func (db *RedisDB) List(k string) ([]string, error) { return db.list(k, "list", "LRANGE", k, 0, -1) }

// Push appends elements and returns the new length.
func (db *RedisDB) Push(k string, v ...string) (int, error) {
	return number(db.try(anys("RPUSH", k)(v)...))
}

// Lpush prepends an element and returns the new length.
func (db *RedisDB) Lpush(k, v string) (int, error) { return number(db.try("LPUSH", k, v)) }

// Pop removes and returns the last element.
func (db *RedisDB) Pop(k string) (string, error) { return db.popped(k, "RPOP") }

// Lpop removes and returns the first element.
func (db *RedisDB) Lpop(k string) (string, error) { return db.popped(k, "LPOP") }

func (db *RedisDB) popped(k, command string) (string, error) {
	if err := db.requireType(k, "list"); err != nil {
		return "", err
	}
	return text(db.try(command, k))
}

// RPush is Push.
func (m *Miniredis) RPush(k string, v ...string) (int, error) { return m.Push(k, v...) }

// RPop is Pop.
func (m *Miniredis) RPop(k string) (string, error) { return m.Pop(k) }

// Sets.

// SetAdd adds elements and returns how many are new.
func (db *RedisDB) SetAdd(k string, elems ...string) (int, error) {
	return number(db.try(anys("SADD", k)(elems)...))
}

// Members returns the elements, sorted.
func (db *RedisDB) Members(k string) ([]string, error) {
	members, err := db.list(k, "set", "SMEMBERS", k)
	return sorted(members), err
}

// IsMember reports whether an element exists.
func (db *RedisDB) IsMember(k, v string) (bool, error) {
	if err := db.requireType(k, "set"); err != nil {
		return false, err
	}
	return yes(db.try("SISMEMBER", k, v))
}

// SRem removes elements and returns how many existed.
func (db *RedisDB) SRem(k string, elems ...string) (int, error) {
	if err := db.requireType(k, "set"); err != nil {
		return 0, err
	}
	return number(db.try(anys("SREM", k)(elems)...))
}

// SCard returns the number of elements.
func (db *RedisDB) SCard(k string) (int, error) { return number(db.try("SCARD", k)) }

// SAdd is SetAdd.
func (m *Miniredis) SAdd(k string, elems ...string) (int, error) { return m.SetAdd(k, elems...) }

// SMembers is Members.
func (m *Miniredis) SMembers(k string) ([]string, error) { return m.Members(k) }

// SIsMember is IsMember.
func (m *Miniredis) SIsMember(k, v string) (bool, error) { return m.IsMember(k, v) }

// list reads a collection that must exist.
func (db *RedisDB) list(k, kind string, args ...any) ([]string, error) {
	if err := db.requireType(k, kind); err != nil {
		return nil, err
	}
	reply, err := db.try(args...)
	return words(reply), err
}
