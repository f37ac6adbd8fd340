-- Wireshark and tshark: CAIS, in-network aggregation. Written by `cais sniff --wireshark-plugin`; do not edit.
-- Put it into the folder "Personal Lua Plugins" (Help, About Wireshark, Folders), or: tshark -X lua_script:cais.lua

local cais = Proto("cais", "CAIS in-network aggregation")

local HEADER_BYTES, LANE_BYTES = @{header_bytes}, @{lane_bytes}
local LEAST_PAYLOAD = @{least_payload} -- behind the EtherType; a shorter frame is padded by Ethernet
local SWITCH = "@{switch_mac}"
local ops = { @{ops} }
local widths = { @{widths} }

local fields = cais.fields
@{fields}
fields.result = ProtoField.bool("cais.result", "Result, from the switch")
fields.lanes = ProtoField.bytes("cais.lanes", "Lanes")
fields.lane_count = ProtoField.uint32("cais.lane_count", "Number of lanes")
fields.lane = ProtoField.int32("cais.lane", "Lane", base.DEC)
fields.padding = ProtoField.bytes("cais.padding", "Padding")

local function problem(name, text, severity)
  return ProtoExpert.new("cais.expert." .. name, text, expert.group.PROTOCOL, severity)
end

local problems = {
  short = problem("short", "The frame ends within the CAIS header", expert.severity.ERROR),
  cut = problem("cut", "Cut off by the capture", expert.severity.NOTE),
  op_type = problem("op_type", "No such operation: the switch drops it", expert.severity.ERROR),
  payload = problem("payload_len", "payload_len is more than the payload that follows", expert.severity.ERROR),
  multiple = problem("multiple", "payload_len is no multiple of a lane", expert.severity.WARN),
  no_total = problem("total_chunks", "total_chunks is 0", expert.severity.WARN),
  chunk = problem("chunk_id", "chunk_id is not below total_chunks (right only where ranks own chunks)", expert.severity.NOTE),
  not_zero = problem("not_zero", "Lanes behind payload_len are not zero", expert.severity.WARN),
  no_tag = problem("no_tag", "No integrity tag", expert.severity.NOTE),
}
local all = {}
for _, each in pairs(problems) do
  all[#all + 1] = each
end
cais.experts = all

local sources = { Field.new("eth.src"), Field.new("sll.src.eth") }

local function from_switch()
  for _, source in ipairs(sources) do
    local info = source()
    if info then
      return info.range:bytes():tohex(true) == SWITCH
    end
  end
  return false
end

-- How many lanes stand in the bytes behind the header: all that fit, and no more than the valid ones where Ethernet may
-- have padded the frame.
local function lanes_in(payload_len, body)
  if payload_len == 0 then
    return 0
  end
  local lanes = math.floor(body / LANE_BYTES)
  if HEADER_BYTES + body > LEAST_PAYLOAD then
    return lanes
  end
  return math.min(lanes, math.ceil(payload_len / LANE_BYTES))
end

-- Adds the fields that are there; returns their values and where they stand, by name.
local function add_header(buffer, tree)
  local values, at, offset = {}, {}, 0
  for _, each in ipairs(widths) do
    local name, width = each[1], each[2]
    if offset + width > buffer:len() then
      break
    end
    local range = buffer(offset, width)
    values[name] = range:uint()
    at[name] = tree:add(fields[name], range)
    offset = offset + width
  end
  return values, at
end

local function add_lanes(buffer, tree, values, lanes)
  local range = buffer(HEADER_BYTES, lanes * LANE_BYTES)
  local item = tree:add(fields.lanes, range)
  item:set_text("Lanes: " .. lanes)
  item:add(fields.lane_count, range, lanes):set_generated()
  local rest_is_zero = true
  for lane = 0, lanes - 1 do
    local word = buffer(HEADER_BYTES + lane * LANE_BYTES, LANE_BYTES)
    item:add(fields.lane, word):prepend_text("[" .. lane .. "] ")
    if lane * LANE_BYTES >= values.payload_len and word:uint() ~= 0 then
      rest_is_zero = false
    end
  end
  if not rest_is_zero then
    item:add_proto_expert_info(problems.not_zero)
  end
end

local function add_problems(buffer, tree, values, at)
  local body = buffer:reported_len() - HEADER_BYTES
  if not ops[values.op_type] then
    at.op_type:add_proto_expert_info(problems.op_type)
  end
  if values.payload_len > body then
    at.payload_len:add_proto_expert_info(problems.payload)
  end
  if values.payload_len % LANE_BYTES ~= 0 then
    at.payload_len:add_proto_expert_info(problems.multiple)
  end
  if values.total_chunks == 0 then
    at.total_chunks:add_proto_expert_info(problems.no_total)
  elseif values.chunk_id >= values.total_chunks then
    at.chunk_id:add_proto_expert_info(problems.chunk)
  end
  if values.reserved == 0 then
    at.reserved:add_proto_expert_info(problems.no_tag)
  end
  if buffer:len() < buffer:reported_len() then
    tree:add_proto_expert_info(problems.cut)
  end
end

function cais.dissector(buffer, pinfo, root)
  pinfo.cols.protocol = "CAIS"
  local tree = root:add(cais, buffer())
  local values, at = add_header(buffer, tree)
  if buffer:len() < HEADER_BYTES then
    local cut = buffer:reported_len() >= HEADER_BYTES
    tree:add_proto_expert_info(cut and problems.cut or problems.short)
    pinfo.cols.info = cut and "Header cut off by the capture" or "Too short for a CAIS header"
    return buffer:len()
  end
  local result = from_switch()
  tree:add(fields.result, result):set_generated()
  local lanes = lanes_in(values.payload_len, buffer:len() - HEADER_BYTES)
  if lanes > 0 then
    add_lanes(buffer, tree, values, lanes)
  end
  local used = HEADER_BYTES + lanes * LANE_BYTES
  if used < buffer:len() then
    tree:add(fields.padding, buffer(used))
  end
  add_problems(buffer, tree, values, at)
  local text = string.format("%s%s group %d layer %d chunk %d/%d seq %d len %d", result and "result " or "",
    ops[values.op_type] or ("op " .. values.op_type), values.group_id, values.layer_id, values.chunk_id,
    values.total_chunks, values.seq_num, values.payload_len)
  pinfo.cols.info = text
  tree:append_text(", " .. text)
  return buffer:len()
end

-- Every way to an EtherType leads here: Ethernet, VLAN tags one in another, cooked captures.
DissectorTable.get("ethertype"):add(@{ethertype}, cais)
