// SPDX-License-Identifier: Apache-2.0
// The independent peer: grpc++ stubs on one channel.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "frontend/grpc/text.h"
#include "health.grpc.pb.h"
#include "rpc.grpc.pb.h"

namespace quorate::tests {

namespace pb = etcdserverpb;

class GrpcClient {
 public:
  explicit GrpcClient(const std::string& address) {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(-1);
    // Channels of one process share connections otherwise, and tests would meet.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    channel = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
    kv = pb::KV::NewStub(channel);
    watch = pb::Watch::NewStub(channel);
    lease = pb::Lease::NewStub(channel);
    cluster = pb::Cluster::NewStub(channel);
    maintenance = pb::Maintenance::NewStub(channel);
    auth = pb::Auth::NewStub(channel);
    health = ::grpc::health::v1::Health::NewStub(channel);
  }

  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<pb::KV::Stub> kv;
  std::unique_ptr<pb::Watch::Stub> watch;
  std::unique_ptr<pb::Lease::Stub> lease;
  std::unique_ptr<pb::Cluster::Stub> cluster;
  std::unique_ptr<pb::Maintenance::Stub> maintenance;
  std::unique_ptr<pb::Auth::Stub> auth;
  std::unique_ptr<::grpc::health::v1::Health::Stub> health;
};

}  // namespace quorate::tests
