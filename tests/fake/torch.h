/* SPDX-License-Identifier: Apache-2.0 */
/* torch.h - names of the probed functions of libtorch, whole, as one wheel has them
 * (probes/torch.yaml matches by prefix, the rest differs by wheel). */
#ifndef TESTS_FAKE_TORCH_H
#define TESTS_FAKE_TORCH_H

#define TORCH_RANGE_BEGIN                                                                               \
	"_ZN5torch8autograd8profiler25record_function_enter_newERKNSt7__cxx1112basic_stringIcSt11char_" \
	"traitsIcESaIcEEERKSt8optionalIS7_E"
#define TORCH_RANGE_END                                                                                    \
	"_ZNO3c106IValue13toCustomClassIN5torch8autograd8profiler20PythonRecordFunctionEEENS_13intrusive_" \
	"ptrIT_NS_6detail34intrusive_target_default_null_typeIS7_EEEEv"
#define TORCH_BACKWARD                                                                             \
	"_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_EEbbbS7_"
#define TORCH_REDUCER	 "_ZN4c10d7Reducer17finalize_backwardEv"
#define TORCH_FUSED_ADAM "_ZN2at4_ops13_fused_adamw_4callEN3c108ArrayRefINS_6TensorEEES5_"
#define TORCH_SAVE_BEGIN "_ZN6caffe29serialize19PyTorchStreamWriter5setupERKSs"
#define TORCH_SAVE_END	 "_ZN6caffe29serialize19PyTorchStreamWriter14writeEndOfFileEv"
#define TORCH_RESTORE	 "_ZN6caffe29serialize19PyTorchStreamReader4initEv"
#define TORCH_MONITOR	 "_ZN5torch7monitor8logEventERKNS0_5EventE"

/* Of an accelerator's runtime, which is in the same file here. */
#define FAKE_LAUNCH "fakeLaunch"
#define FAKE_SYNC   "fakeSync"

#endif
