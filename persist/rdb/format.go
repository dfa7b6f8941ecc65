package rdb

import "strconv"

// Opcodes: what stands in the place of a type.
const (
	opFunctionOld = 246 // of release candidates of Redis 7.0
	opFunction    = 245
	opModuleAux   = 247
	opIdle        = 248
	opFreq        = 249
	opAux         = 250
	opResizeDB    = 251
	opExpireMs    = 252
	opExpire      = 253
	opSelectDB    = 254
	opEOF         = 255
)

// Types of values, by how they are written.
const (
	typeString          = 0
	typeList            = 1 // strings
	typeSet             = 2
	typeZSet            = 3 // scores in decimal
	typeHash            = 4
	typeZSet2           = 5 // scores as eight bytes
	typeModuleOld       = 6
	typeModule          = 7
	typeHashZipmap      = 9
	typeListZiplist     = 10
	typeSetIntset       = 11
	typeZSetZiplist     = 12
	typeHashZiplist     = 13
	typeListQuicklist   = 14 // ziplists
	typeStream          = 15
	typeHashListpack    = 16
	typeZSetListpack    = 17
	typeListQuicklist2  = 18 // listpacks, and elements alone
	typeStream2         = 19
	typeSetListpack     = 20 // from version 11 on
	typeStream3         = 21 // from version 11 on
	typeNone            = 255
	containerPlain      = 1 // a node of a quicklist that is one element
	containerPacked     = 2
	listpackHeader      = 6
	ziplistHeader       = 10
	packEnd             = 0xff
	countUnknown        = 0xffff // what a pack says of its size when it is too large to say
	magic               = "REDIS"
	headerSize          = len(magic) + 4
	checksumSize        = 8
	oldestWithChecksum  = 5
	lowestTypeOrOpcode  = opFunction
	encodedIntsetHeader = 8
)

// held reports whether values of the type can be held here.
func held(typ byte) bool {
	switch kind(typ) {
	case "string", "list", "set", "sorted set", "hash":
		return true
	}
	return false
}

// kind is what TYPE calls a type.
func kind(typ byte) string {
	switch typ {
	case typeString:
		return "string"
	case typeList, typeListZiplist, typeListQuicklist, typeListQuicklist2:
		return "list"
	case typeSet, typeSetIntset, typeSetListpack:
		return "set"
	case typeZSet, typeZSet2, typeZSetZiplist, typeZSetListpack:
		return "sorted set"
	case typeHash, typeHashZipmap, typeHashZiplist, typeHashListpack:
		return "hash"
	case typeStream, typeStream2, typeStream3:
		return "stream"
	case typeModuleOld, typeModule:
		return "module type"
	}
	return "type " + strconv.Itoa(int(typ))
}
