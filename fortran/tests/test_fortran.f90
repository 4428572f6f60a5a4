! SPDX-License-Identifier: BSD-3-Clause
!
! test_fortran.f90: what the module csz promises.  Writes fortran.f32 and fortran.csz for the shell script,
! which compares them with the command.
program test_fortran
    use csz
    use, intrinsic :: ieee_arithmetic
    implicit none
    integer :: nfailed = 0
    call ranks_and_kinds()
    call specials()
    call forgotten_fill()
    call parts()
    call refusals()
    call files()
    call parameters()
    if (nfailed > 0) error stop 1
    print '(a)', 'all passed'
contains

    subroutine check(good, what)
        logical, intent(in) :: good
        character(*), intent(in) :: what
        if (good) return
        nfailed = nfailed + 1
        print '(2a)', 'FAILED: ', what
    end subroutine

    ! A smooth field with structure along every dimension.
    elemental real(real64) function wave(i, j, k)
        integer, intent(in) :: i, j, k
        wave = sin(0.11_real64*i) + 0.5_real64*cos(0.07_real64*j + 0.3_real64*k) + 1e-3_real64*mod(i*7 + j*13 + k, 5)
    end function

    subroutine ranks_and_kinds()
        real(real32) :: a1(5000), b1(5000), a2(60, 70), b2(60, 70), a3(40, 30, 20), b3(40, 30, 20)
        real(real32) :: a4(9, 8, 7, 6), b4(9, 8, 7, 6), a5(4, 5, 6, 7, 3), b5(4, 5, 6, 7, 3)
        real(real64) :: c3(40, 30, 20), d3(40, 30, 20)
        integer(int8), allocatable :: archive(:)
        type(csz_info) :: info
        real(real64), parameter :: bound = 1e-3_real64
        integer :: i, j, k, status
        a1 = [(real(wave(i, 1, 1), real32), i=1, 5000)]
        a2 = reshape([((real(wave(i, j, 1), real32), i=1, 60), j=1, 70)], shape(a2))
        c3 = reshape([(((wave(i, j, k), i=1, 40), j=1, 30), k=1, 20)], shape(c3))
        a3 = real(c3, real32)
        a4 = reshape([(real(wave(i, i/9, i/72), real32), i=1, size(a4))], shape(a4))
        a5 = reshape([(real(wave(i, i/4, i/20), real32), i=1, size(a5))], shape(a5))

        call csz_compress(archive, a1, status, abs=bound)
        call check(status == csz_ok, 'rank 1')
        call csz_decompress(b1, archive, status)
        call check(status == csz_ok .and. maxval(abs(real(a1, real64) - b1)) <= bound, 'rank 1 restored')
        call csz_compress(archive, a2, status, rel=bound, zstd_level=3, threads=2)
        call csz_decompress(b2, archive, status, threads=1)
        call check(status == csz_ok .and. &
                   maxval(abs(real(a2, real64) - b2)) <= bound*(real(maxval(a2), real64) - minval(a2)), 'rank 2')
        call csz_compress(archive, a3, status, abs=bound)
        call csz_decompress(b3, archive, status)
        call check(status == csz_ok .and. maxval(abs(real(a3, real64) - b3)) <= bound, 'rank 3')
        call csz_inspect(archive, info, status)
        call check(status == csz_ok .and. info%kind == real32 .and. info%rank == 3 .and. &
                   all(info%shape(:3) == shape(a3)) .and. info%nbytes_archive == size(archive), 'inspect')
        call check(info%nbytes_field > 3*info%nbytes_archive, 'a smooth field becomes small')
        call csz_compress(archive, a4, status, abs=bound)
        call csz_decompress(b4, archive, status)
        call check(status == csz_ok .and. maxval(abs(real(a4, real64) - b4)) <= bound, 'rank 4')
        call csz_compress(archive, a5, status, abs=bound)
        call csz_decompress(b5, archive, status)
        call check(status == csz_ok .and. maxval(abs(real(a5, real64) - b5)) <= bound, 'rank 5')
        call csz_compress(archive, c3, status, psnr=80._real64)
        call csz_decompress(d3, archive, status)
        call check(status == csz_ok .and. &
                   20*log10((maxval(c3) - minval(c3))/sqrt(sum((c3 - d3)**2)/size(c3))) >= 80, 'real64, PSNR')
        call csz_compress(archive, c3, status, pwr=1e-3_real64)
        call csz_decompress(d3, archive, status)
        call check(status == csz_ok .and. all(abs(c3 - d3) <= 1.000001e-3_real64*abs(c3)), 'real64, pointwise')
        call csz_compress(archive, c3, status, pwr=1e-3_real64, floor=1e-2_real64)
        call csz_decompress(d3, archive, status)
        call check(status == csz_ok .and. all(abs(c3 - d3) <= max(1.000001e-3_real64*abs(c3), 1e-2_real64)) .and. &
                   any(abs(c3 - d3) > 1.000001e-3_real64*abs(c3)), 'real64, pointwise with a floor')
        call csz_compress(archive, c3, status, exact=.true.)
        call csz_decompress(d3, archive, status)
        call check(status == csz_ok .and. all(c3 == d3), 'real64, exact')
        call csz_compress(archive, c3, status, exact=.true., abs=bound)
        call check(status == csz_error_argument, 'exact beside a bound is refused')
        ! not contiguous, both ways
        call csz_compress(archive, a3(::2, :, ::3), status, abs=bound)
        b3 = 7
        call csz_decompress(b3(::2, :, ::3), archive, status)
        call check(status == csz_ok .and. maxval(abs(real(a3(::2, :, ::3), real64) - b3(::2, :, ::3))) <= bound, &
                   'an array that is not contiguous')
        call check(all(b3(2::2, :, :) == 7) .and. all(b3(:, :, 2::3) == 7), 'what lies between stays')
    end subroutine

    subroutine specials()
        real(real64) :: a(100, 20), b(100, 20)
        integer(int8), allocatable :: archive(:)
        integer :: i, status
        a = reshape([(wave(i, i/100, 1), i=1, size(a))], shape(a))
        a(3, 4) = ieee_value(1._real64, ieee_quiet_nan)
        a(5, 6) = ieee_value(1._real64, ieee_negative_inf)
        a(7, 8) = -0._real64
        a(50:, 11:) = 1e20_real64
        call csz_compress(archive, a, status, rel=1e-4_real64, fill=1e20_real64)
        call csz_decompress(b, archive, status)
        call check(status == csz_ok .and. ieee_is_nan(b(3, 4)) .and. b(5, 6) < -huge(1._real64) .and. &
                   b(7, 8) == 0 .and. sign(1._real64, b(7, 8)) < 0, 'NaN, infinity and -0.0')
        call check(all(b(50:, 11:) == 1e20_real64), 'the fill value')
        call csz_compress(archive, a, status, abs=1e-4_real64, fill=1e20_real64, unsigned_zeros=.true.)
        call csz_decompress(b, archive, status)
        call check(status == csz_ok .and. b(7, 8) == 0 .and. sign(1._real64, b(7, 8)) > 0, '-0.0 as 0')
        call check(maxval(abs(a(51:, :10) - b(51:, :10))) <= 1e-3_real64, 'the range leaves the fill value out')
    end subroutine

    subroutine forgotten_fill()
        real(real64) :: a(100, 20), b(100, 20), suspect
        real(real32) :: a4(100, 20)
        integer(int8), allocatable :: archive(:)
        integer :: i, status
        a = reshape([(wave(i, i/100, 1), i=1, size(a))], shape(a))
        call csz_compress(archive, a, status, rel=1e-3_real64, suspect=suspect)
        call check(status == csz_ok .and. ieee_is_nan(suspect), 'no fill value, none suspected')
        a(50:, 11:) = 1e20_real64
        call csz_compress(archive, a, status, rel=1e-3_real64)
        call check(status == csz_warning_fill .and. index(csz_message(status), 'fill') > 0, 'a forgotten fill value')
        call csz_decompress(b, archive, status)
        call check(status == csz_ok, 'and its archive')
        call csz_compress(archive, a, status, psnr=60._real64, suspect=suspect)
        call check(status == csz_warning_fill .and. suspect == 1e20_real64, 'which one, with psnr')
        a4 = real(a, real32)
        call csz_compress(archive, a4, status, rel=1e-3_real64, suspect=suspect)
        call check(status == csz_warning_fill .and. suspect == real(1e20_real32, real64), 'which one, of real32')
        call csz_compress(archive, a, status, rel=1e-3_real64, fill=1e20_real64, suspect=suspect)
        call check(status == csz_ok .and. ieee_is_nan(suspect), 'a fill value that is named')
        call csz_compress(archive, a, status, rel=1e-3_real64, no_fill=.true., suspect=suspect)
        call check(status == csz_ok .and. ieee_is_nan(suspect), 'every value is data')
        call csz_compress(archive, a, status, abs=1e-3_real64, suspect=suspect)
        call check(status == csz_ok .and. suspect == 1e20_real64, 'an absolute bound loses nothing')
        call csz_compress(archive, a, status, pwr=1e-3_real64)
        call check(status == csz_ok, 'nor does a pointwise one')
        call csz_compress(archive, a, status, exact=.true.)
        call check(status == csz_ok, 'nor does none')
        call csz_compress(archive, a, status, abs=1e-3_real64, fill=1e20_real64, no_fill=.true.)
        call check(status == csz_error_argument, 'a fill value beside none')
        a(50:, 11:) = a(:51, :10)
        a(60, 15) = 1e20_real64
        call csz_compress(archive, a, status, rel=1e-3_real64, suspect=suspect)
        call check(status == csz_warning_fill .and. suspect == 1e20_real64, 'a single one')
    end subroutine

    subroutine parts()
        real(real32) :: a(90, 50, 40), box(11, 20, 5)
        real(real32), allocatable :: preview(:, :, :), whole(:, :, :)
        integer(int8), allocatable :: archive(:)
        integer(int64) :: shape_of_level(4)
        integer :: i, j, k, rank_of_level, status
        a = reshape([(((real(wave(i, j, k), real32), i=1, 90), j=1, 50), k=1, 40)], shape(a))
        allocate (whole(90, 50, 40))
        call csz_compress(archive, a, status, abs=1e-3_real64, predictor=csz_pyramid)
        call csz_decompress(whole, archive, status)
        call csz_decompress_region(box, archive, [30_int64, 1_int64, 36_int64], [40_int64, 20_int64, 40_int64], &
                                   status)
        call check(status == csz_ok .and. all(box == whole(30:40, 1:20, 36:40)), 'region')
        box = 0
        call csz_decompress_region(box, archive, [30, 1, 36], [40, 20, 40], status)
        call check(status == csz_ok .and. all(box == whole(30:40, 1:20, 36:40)), 'region by default integers')
        call csz_level_shape(archive, 2, rank_of_level, shape_of_level, status)
        call check(status == csz_ok .and. rank_of_level == 3 .and. &
                   all(shape_of_level(:3) == [23, 13, 10]), 'shape of level 2')
        allocate (preview(23, 13, 10))
        call csz_decompress_level(preview, archive, 2, status)
        call check(status == csz_ok .and. all(preview == whole(::4, ::4, ::4)), 'level 2')
        call csz_decompress_region(box, archive, [0_int64, 1_int64, 1_int64], [10_int64, 20_int64, 5_int64], status)
        call check(status == csz_error_region, 'a region from 0')
        call csz_decompress_region(box, archive, [81_int64, 1_int64, 1_int64], [91_int64, 20_int64, 5_int64], status)
        call check(status == csz_error_region, 'a region past the end')
        call csz_decompress_level(preview, archive, 30, status)
        call check(status == csz_error_level, 'a level that does not exist')
    end subroutine

    subroutine refusals()
        real(real32) :: a(64, 64), other(64, 63)
        real(real64) :: wide(64, 64)
        integer(int8), allocatable :: archive(:)
        integer :: i, status
        a = reshape([(real(wave(i, i/64, 1), real32), i=1, size(a))], shape(a))
        call csz_compress(archive, a, status)
        call check(status == csz_error_argument, 'no bound')
        call csz_compress(archive, a, status, abs=1e-3_real64, rel=1e-3_real64)
        call check(status == csz_error_argument, 'two bounds')
        call csz_compress(archive, a, status, abs=-1._real64)
        call check(status == csz_error_bound, 'a negative bound')
        call check(csz_message(status) /= '', 'a message')
        call csz_compress(archive, a, status, abs=1e-3_real64)
        call csz_decompress(other, archive, status)
        call check(status == csz_error_shape .and. index(csz_message(status), 'shape') > 0, 'another shape')
        call csz_decompress(wide, archive, status)
        call check(status == csz_error_kind .and. index(csz_message(status), 'kind') > 0, 'another kind')
        call csz_decompress_region(other, archive, [1_int64, 1_int64], [64_int64, 62_int64], status)
        call check(status == csz_error_shape, 'a region of another shape')
        archive(size(archive)/2) = ieor(archive(size(archive)/2), 4_int8)
        call csz_decompress(a, archive, status)
        call check(status == csz_error_corrupt, 'a damaged archive')
        call csz_decompress(a, archive(:20), status)
        call check(status == csz_error_truncated, 'an archive cut short')
    end subroutine

    subroutine files()
        real(real32) :: a(37, 51, 29)
        integer(int8), allocatable :: archive(:), back(:)
        integer :: i, j, k, unit, status
        a = reshape([(((real(wave(i, j, k), real32), i=1, 37), j=1, 51), k=1, 29)], shape(a))
        call csz_compress(archive, a, status, rel=1e-4_real64)
        call csz_write_file('fortran.csz', archive, status)
        call check(status == csz_ok, 'a file written')
        call csz_read_file('fortran.csz', back, status)
        call check(status == csz_ok, 'a file read')
        if (status == csz_ok) call check(size(back) == size(archive), 'its size')
        if (size(back) == size(archive)) call check(all(back == archive), 'its bytes')
        call csz_write_file('no/such/folder/a.csz', archive, status)
        call check(status == csz_error_io, 'a folder that does not exist')
        call csz_read_file('no_such_file.csz', back, status)
        call check(status == csz_error_io, 'a file that does not exist')
        open (newunit=unit, file='fortran.f32', access='stream', form='unformatted', status='replace')
        write (unit) a
        close (unit)
    end subroutine

    subroutine parameters()
        integer, allocatable :: words(:)
        integer :: status
        words = csz_hdf5_parameters(rel=1e-3_real64)
        call check(size(words) == 3, 'three words')
        open (unit=10, file='parameters.txt', status='replace')
        write (10, '(i0,2(",",i0))') words(1), iand(int(words(2), int64), int(z'FFFFFFFF', int64)), &
            iand(int(words(3), int64), int(z'FFFFFFFF', int64))
        close (10)
        ! what is wrong is said, and a caller that does not look gets words that the filter refuses: none would keep
        ! every bit in silence
        words = csz_hdf5_parameters(status=status)
        call check(status == csz_error_argument .and. all(words == [0, 0, 0]), 'words without a bound')
        words = csz_hdf5_parameters(abs=1._real64, rel=1._real64, status=status)
        call check(status == csz_error_argument .and. all(words == [0, 0, 0]), 'words of two bounds')
        words = csz_hdf5_parameters(abs=1._real64, floor=1._real64, status=status)
        call check(status == csz_error_argument .and. all(words == [0, 0, 0]), 'words of a floor without pwr')
        words = csz_hdf5_parameters(pwr=0.5_real64, unsigned_zeros=.true., status=status)
        call check(status == csz_error_argument .and. all(words == [0, 0, 0]), 'words of unsigned zeros with pwr')
        words = csz_hdf5_parameters(abs=-0.5_real64, status=status)
        call check(status == csz_error_bound .and. size(words) == 3 .and. words(3) < 0, 'words of a negative bound')
        words = csz_hdf5_parameters(pwr=1._real64, status=status)
        call check(status == csz_error_bound .and. size(words) == 3, 'words of a pointwise bound of 1')
        words = csz_hdf5_parameters(pwr=0.5_real64, floor=-1._real64, status=status)
        call check(status == csz_error_bound .and. size(words) == 9, 'words of a negative floor')
        words = csz_hdf5_parameters(exact=.true., status=status)
        call check(status == csz_ok .and. all(words == [512]), 'words of exact')
        words = csz_hdf5_parameters(abs=0.5_real64, exact=.false., unsigned_zeros=.false., status=status)
        call check(status == csz_ok .and. all(words == [0, 0, 1071644672]), 'words of a bound, not exact')
        words = csz_hdf5_parameters(pwr=0.5_real64, floor=1._real64)
        call check(all(words == [1027, 0, 1071644672, 0, 0, 0, 0, 0, 1072693248]), 'words of a floor')
        words = csz_hdf5_parameters(rel=0.5_real64, unsigned_zeros=.true.)
        call check(all(words == [2049, 0, 1071644672]), 'words of unsigned zeros')
    end subroutine
end program
